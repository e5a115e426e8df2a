// Package foreign turns text that a file brings along into text that is safe where it is going: Python code, a terminal, a
// cell of a table, a page, a path.
//
// Profiles, traces and captures come from other people and other machines. Their authors choose every name in them: of
// kernels, arguments, metrics, devices, files. Such a name must stay a name. Each destination has one function here, which
// either returns text that the destination reads as data or says that there is none. Packages that write scripts, print
// reports or name files call these functions and have no rules of their own.
//
// JSON needs no function: encoding/json and tritonparse/jsontext escape whatever they are given.
package foreign
