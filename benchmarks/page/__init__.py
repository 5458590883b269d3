"""How fast the page is, in a real Chromium against a real platform."""
