"""Scopes in kernels without editing them."""
