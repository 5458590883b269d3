"""Commands about sign-in: the kept address and token, tokens of programs, signed-in browsers."""
