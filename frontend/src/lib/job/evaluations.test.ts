import { expect, it } from "vitest"
import { bestOf, formatEvaluated, judgedBy, whenBest } from "./evaluations"

it("is judged by the main metric, else by the first that was measured", () => {
  expect(judgedBy({ loss: 0.1, accuracy: 0.9 }, "loss")).toBe("loss")
  expect(judgedBy({ loss: 0.1, accuracy: 0.9 }, null)).toBe("accuracy")
  expect(judgedBy({ loss: 0.1 }, "auc")).toBe("loss")
  expect(judgedBy({}, "auc")).toBeNull()
})

it("writes an accuracy in percent, and another metric as a number", () => {
  expect(formatEvaluated("accuracy", 0.9712)).toBe("97.1 %")
  expect(formatEvaluated("accuracy", 0.9712, 4)).toBe("97.12 %")
  expect(formatEvaluated("loss", 0.081234, 4)).toBe("0.08123")
})

const best = { metric: "eval/loss", higher_is_better: false, value: 0.1, attempt: 1, samples: 12_345, version: 7, at: "2026-01-10T12:00:00Z", after: 64 }

it("has no best value that is worse than the latest", () => {
  const known = { value: 0.1, when: "after 12.3k samples, 1 min 4 s", version: 7 }
  expect([0.2, 0.1, null, NaN].map((latest) => bestOf(best, latest))).toEqual([known, known, known, known])
  expect(bestOf(best, 0.05)).toEqual({ value: 0.05, when: "just now", version: null })
  expect(bestOf({ ...best, higher_is_better: true }, 0.2).value).toBe(0.2)
})

it("says when the best one came", () => {
  expect(whenBest(best)).toBe("after 12.3k samples, 1 min 4 s")
  expect(whenBest({ ...best, attempt: 2, after: null })).toBe("after 12.3k samples, attempt 2")
})
