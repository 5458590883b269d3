import { expect, it } from "vitest"
import { nextName, withNextName } from "./naming"

it("counts the runs of a name, past those that exist", () => {
  expect(nextName("digits", new Set(["digits"]))).toBe("digits-2")
  expect(nextName("digits", new Set(["digits", "digits-2", "digits-3"]))).toBe("digits-4")
  expect(nextName("digits-2", new Set(["digits", "digits-2"]))).toBe("digits-3")
})

it("takes a number for a part of the name where no job has the rest", () => {
  expect(nextName("resnet-50", new Set(["resnet-50"]))).toBe("resnet-50-2")
})

it("stays within the longest name", () => {
  const long = "n".repeat(63)
  expect(nextName(long, new Set([long]))).toBe(`${"n".repeat(61)}-2`)
})

it("keeps comments, and a file that has no name", () => {
  expect(withNextName("# mine\nname: digits # first\nseed: 1\n", new Set(["digits"]))).toBe("# mine\nname: digits-2 # first\nseed: 1\n")
  expect(withNextName("seed: 1\n", new Set())).toBe("seed: 1\n")
  expect(withNextName("name: [\n", new Set())).toBe("name: [\n")
})
