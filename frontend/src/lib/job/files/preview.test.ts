import { expect, test } from "vitest"
import { asPreview, canPreview } from "./preview"

test("small texts can be looked at", () => {
  expect(canPreview("checkpoints/1/manifest.json", 90)).toBe(true)
  expect(canPreview("job.yaml", 90)).toBe(true)
  expect(canPreview("model.safetensors", 90)).toBe(false)
  expect(canPreview("huge.json", 1e9)).toBe(false)
})

test("JSON gets line breaks, if it is JSON", () => {
  expect(asPreview("a.json", '{"a":1}')).toBe('{\n  "a": 1\n}')
  expect(asPreview("a.json", '{"a":NaN}')).toBe('{"a":NaN}')
  expect(asPreview("a.yaml", "a: 1")).toBe("a: 1")
})
