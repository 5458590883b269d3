import { expect, it } from "vitest"
import { accounts, ledgerInShort, noLedger, outcomeTitle, whyDropped } from "./ledger"

const none = new Map<number, number>()

it("adds up: pushed = applied + deferred + dropped + pending + rolled back", () => {
  const latest = {
    pushed: new Map([[1, 20], [0, 12]]), applied: new Map([[0, 10], [1, 15]]), deferred: new Map([[1, 2]]), dropped: new Map([[1, 1]]),
    pending: new Map([[0, 2], [1, 2]]), rolled_back: new Map([[0, 5]]),
  }
  expect(accounts(latest)).toEqual([
    { rank: 0, pushed: 17, applied: 10, deferred: 0, dropped: 0, pending: 2, rolled_back: 5, missing: 0 },
    { rank: 1, pushed: 20, applied: 15, deferred: 2, dropped: 1, pending: 2, rolled_back: 0, missing: 0 },
  ])
})

it("tells what is missing", () => {
  const [account] = accounts({ pushed: new Map([[0, 9]]), applied: new Map([[0, 8]]), deferred: none, dropped: none, pending: none, rolled_back: none })
  expect(account!.missing).toBe(1)
})

it("names outcomes in words", () => {
  expect(outcomeTitle("rolled_back")).toBe("rolled back")
})

it("says why pushes were dropped", () => {
  const dropped = { dropped: 15, dropped_stale: 12, dropped_quorum: 0, dropped_not_finite: 3, dropped_superseded: 0 }
  expect(whyDropped(dropped)).toBe("12 too stale, 3 NaN or infinite")
  expect(whyDropped({ ...dropped, dropped_stale: 0, dropped_not_finite: 0 })).toBe("the reason was not recorded")
  expect(whyDropped({ dropped: 0, dropped_stale: 0, dropped_quorum: 0, dropped_not_finite: 0, dropped_superseded: 0 })).toBe("no effect on the model")
})

it("says that nothing has been pushed only of a center without a version", () => {
  expect(noLedger(0, (said) => `${said} yet.`)).toBe("Nothing has been pushed yet.")
  expect(noLedger(32, (said) => `${said} yet.`)).toBe("The servers count the pushes once a second.")
})

it("is one sentence where nothing is out of the ordinary", () => {
  const account = { pushed: 128, applied: 128, deferred: 0, dropped: 0, pending: 0, rolled_back: 0 }
  expect(ledgerInShort(account)).toBe("128 pushes, all applied.")
  expect(ledgerInShort({ ...account, applied: 120, pending: 8 })).toBe("128 pushes: 120 applied, 8 pending.")
  expect(ledgerInShort({ ...account, pushed: 1, applied: 0, rolled_back: 1 })).toBe("1 push: 1 rolled back.")
})
