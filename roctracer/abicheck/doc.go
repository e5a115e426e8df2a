// Package abicheck holds the tests that compare the hand-written declarations of package roctracer with the vendor's own headers and
// libraries. The headers come with Triton's wheels (tools/oracles.sh puts them into .venv/oracles) and with Debian's packages (tools/rocm.sh), the
// libraries with a system's packages; neither is part of the product. Without them the tests are skipped.
package abicheck
