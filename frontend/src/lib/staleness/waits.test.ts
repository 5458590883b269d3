import { expect, it } from "vitest"
import { waitedFor } from "./waits"

const worker = (rank: number, wait: number) => ({ label: `worker-${rank}`, compute: 8 - wait, data: 1, send: 1, wait })

it("names the worker for which others waited, and the one that waited most", () => {
  expect(waitedFor([worker(0, 4), worker(1, 0.5), worker(2, 5)])).toBe("Others waited for worker-1, which itself waited 5 % of its time; worker-2 waited most, 50 %.")
})

it("blames no worker where all waited alike, and says nothing of one alone", () => {
  expect(waitedFor([worker(0, 2), worker(1, 2.1)])).toBe("All workers waited about alike, 21 % of their time.")
  expect([waitedFor([worker(0, 1)]), waitedFor([])]).toEqual(["", ""])
})
