// Package foreign turns text that a file brings along into text that is safe where it is going: Python code, a terminal, a
// path.
//
// Profiles, traces and captures come from other people and other machines. Their authors choose every name in them: of
// kernels, arguments, metrics, devices, files. Such a name must stay a name. Each destination has one function here, which
// either returns text that the destination reads as data or says that there is none. Packages that write scripts, print
// reports or name files call these functions and have no rules of their own. IsSource says which files are sources of GPU code: keys and
// settings, for example, are never read for their lines.
//
// JSON and HTML need no function: encoding/json and internal/jsontext escape whatever they are given, and pages get their data as
// JSON. Cells of CSV are not changed for spreadsheets: docs/security.md says why.
package foreign
