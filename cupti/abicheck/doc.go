// Package abicheck holds the tests that compare cupti/abi*.h, which are written by hand, with the vendor's own
// headers and libraries. The vendor's files come from PyPI (tools/oracles.sh puts them into .venv/oracles) and are never
// part of the product. Without them the tests are skipped.
package abicheck
