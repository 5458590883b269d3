import { expect, it } from "vitest"
import { readSecret } from "./secret"

it.each([
  ["gst_abc", { token: "gst_abc" }],
  [" K7Q2 ", { code: "K7Q2" }],
  ["http://127.0.0.1:8000/sign-in#K7Q2", { code: "K7Q2" }],
])("reads %s", (pasted, secret) => expect(readSecret(pasted)).toEqual(secret))
