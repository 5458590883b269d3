import { expect, it } from "vitest"
import { firstShown, lineKind, recordDifferences } from "./code"

const files = ["a.py", "lab/__init__.py", "lab/net.py"].map((path) => ({ path, size: 1, warning: null }))

it("shows the file that is asked for, else that of the workload, else the first", () => {
  expect(firstShown(files, "lab.net:Net", "a.py")).toBe("a.py")
  expect(firstShown(files, "lab.net:Net", "gone.py")).toBe("lab/net.py")
  expect(firstShown(files, "lab:Net", null)).toBe("lab/__init__.py")
  expect(firstShown(files, "installed.package:Net", null)).toBe("a.py")
  expect(firstShown([], "lab:Net", "a.py")).toBeNull()
})

it("tells lines of a difference apart", () => {
  expect(["@@ -1 +1 @@", "-- a", "++ b", " c", ""].map(lineKind)).toEqual(["place", "removed", "added", "same", "same"])
})

it("names what differs between two records", () => {
  expect(recordDifferences([["torch", "2.1"], ["numpy", "2.0"], ["old", "1"]], [["torch", "2.2"], ["numpy", "2.0"], ["new", "3"]])).toEqual([
    { path: "torch", values: ["2.1", "2.2"] },
    { path: "old", values: ["1", "–"] },
    { path: "new", values: ["–", "3"] },
  ])
})
