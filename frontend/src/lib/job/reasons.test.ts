import { expect, it } from "vitest"
import { bannerOf, inShort } from "./reasons"

const failed = { status: "failed", message: "worker-0: failed in loss(): ValueError: no (w.py:8)" } as const

it("has a banner for a job that waits or did not succeed", () => {
  expect(bannerOf(failed)).toBe(failed.message)
  expect(bannerOf({ status: "queued", message: "It waits for a slot." })).toBe("It waits for a slot.")
  expect(bannerOf({ status: "running", message: "All processes run." })).toBeNull()
  expect(bannerOf({ status: "succeeded", message: "Training is complete." })).toBeNull()
})

it("refers to the reason that the banner tells", () => {
  expect(inShort(failed.message, failed)).toBe("See the reason above.")
  expect(inShort("failed in loss(): ValueError: no (w.py:8)", failed)).toBe("See the reason above.")
  expect(inShort("killed by signal 9", failed)).toBe("killed by signal 9")
  expect(inShort(null, failed)).toBeNull()
  expect(inShort("Training is complete.", { status: "succeeded", message: "Training is complete." })).toBe("Training is complete.")
})
