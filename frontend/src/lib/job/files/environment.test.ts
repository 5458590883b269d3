import { expect, test } from "vitest"
import { environmentRows, matchingPackages, readEnvironment } from "./environment"

const RECORD = {
  python: "3.11.7", gradstream: "0.1.0", packages: ["numpy==2.0.0", "torch==2.13.0"], packages_left_out: 0, host: "alpha", system: "Debian 12",
  kernel: "6.1", processor: "EPYC", cores: 8, gpu: null, driver: null,
}

test("what is known of commit, packages and machine is shown, and nothing else", () => {
  const origin = { commit: "1a2b3c4d".repeat(5), branch: null, dirty: true, client: "0.1.0" }
  expect(Object.fromEntries(environmentRows(origin, readEnvironment(JSON.stringify(RECORD))))).toEqual({
    Commit: "1a2b3c4d1a2b (dirty: files that were sent differ)", "Submitted by": "gradstream 0.1.0", Python: "3.11.7", torch: "2.13.0", Gradstream: "0.1.0",
    Host: "alpha", System: "Debian 12, 6.1", Processor: "EPYC, 8 cores",
  })
  expect(environmentRows(null, null)).toEqual([])
})

test("a file that is no record is none", () => {
  for (const text of ["", "[]", "null", '{"packages": 3}']) expect(readEnvironment(text)).toBeNull()
})

test("packages are found by a part of their name or version", () => {
  expect(matchingPackages(RECORD.packages, " TORCH")).toEqual(["torch==2.13.0"])
  expect(matchingPackages(RECORD.packages, "")).toEqual(RECORD.packages)
})
