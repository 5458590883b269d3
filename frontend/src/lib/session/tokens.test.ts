import { expect, it } from "vitest"
import { consequenceOf, expiryOf, LIFETIMES, summaryOf, usesOf } from "./tokens"

const NOW = Date.parse("2026-11-23T12:00:00Z")

it.each([
  [null, "never", false],
  ["2027-03-01T12:00:00Z", "1 Mar 2027", false],
  ["2026-11-20T12:00:00Z", "expired 20 Nov 2026", true],
  ["2026-11-23T12:00:00Z", "expired 23 Nov 2026", true],
])("says when a token that ends at %s expires", (expires_at, text, expired) => expect(expiryOf({ expires_at }, NOW)).toEqual({ text, expired }))

it.each([
  [{ kind: "api", scope: "read", expires_at: "2027-03-01T12:00:00Z" }, "API, scope read, expires 1 Mar 2027"],
  [{ kind: "api", scope: "full", expires_at: null }, "API, scope full, does not expire"],
  [{ kind: "join", scope: null, expires_at: "2026-11-20T12:00:00Z" }, "Join, expired 20 Nov 2026"],
] as const)("tells in a line what %o is", (token, line) => expect(summaryOf(token, NOW)).toBe(line))

it.each([
  [{ uses: 5, used: 2 }, "2 of 5 machines joined"],
  [{ uses: 1, used: 1 }, "1 of 1 machine joined"],
  [{ uses: null, used: 0 }, undefined],
] as const)("says what %o was used for", (token, text) => expect(usesOf(token)).toBe(text))

it("offers lifetimes that the API takes", () => {
  const seconds = Object.values(LIFETIMES).filter((each) => each !== null)
  expect(seconds).toEqual([...seconds].sort((one, other) => one - other))
  expect(Math.max(...seconds)).toBeLessThan(10 * 366 * 86_400)
  expect(LIFETIMES.Never).toBeNull()
})

it.each([
  ["join", [], "No other machine can join with it. Machines that have joined stay."],
  ["api", [{ token_id: "b", current: true }], "Programs that use this token lose access at once."],
  ["api", [{ token_id: "a", current: true }], "Programs that use this token lose access at once. 1 browser that signed in with it is signed out, this one too."],
  ["api", [{ token_id: "a", current: false }, { token_id: "a", current: false }], "Programs that use this token lose access at once. 2 browsers that signed in with it are signed out."],
] as const)("says what follows from revoking a token of kind %s with sessions %o", (kind, sessions, says) => expect(consequenceOf({ id: "a", kind }, sessions)).toBe(says))
