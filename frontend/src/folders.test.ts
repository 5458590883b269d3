import { readdirSync } from "node:fs"
import { expect, test } from "vitest"

const MAX_FILES = 14

test("no folder holds more source files than a reader can take in", () => {
  const files = new Map<string, number>()
  for (const { parentPath, name } of readdirSync(import.meta.dirname, { recursive: true, withFileTypes: true })) {
    if (/\.tsx?$/.test(name) && !name.includes(".test.")) files.set(parentPath, (files.get(parentPath) ?? 0) + 1)
  }
  expect(files.size).toBeGreaterThan(20)
  expect([...files].filter(([, count]) => count > MAX_FILES)).toEqual([])
})
