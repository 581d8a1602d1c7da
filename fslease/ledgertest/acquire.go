package ledgertest

var acquireCases, takeoverCases, waitCases, workCases, tokenCases []testCase
