"""HTTP clients know the authorities where they need them, and trust nobody elsewhere."""

from __future__ import annotations

import ssl

from gradstream.tls import choose_verify


def test_an_https_address_is_verified_with_the_known_authorities() -> None:
    assert choose_verify("https://train.example.org/base") is True


def test_a_plain_address_loads_no_authorities_and_trusts_no_host() -> None:
    context = choose_verify("http://127.0.0.1:8000")
    assert isinstance(context, ssl.SSLContext)
    assert context.get_ca_certs() == []
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
