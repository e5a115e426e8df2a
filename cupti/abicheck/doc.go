// Package abicheck holds the tests that compare cupti/abi.h, which is written by hand, with the vendor's own
// headers and libraries. They come from PyPI (tools/oracles.sh puts them into .venv/oracles) and are never
// part of the product; without them the tests are skipped.
package abicheck
