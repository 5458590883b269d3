import { expect, it } from "vitest"
import { formatEvaluated, judgedBy, whenBest } from "./evaluations"

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

it("says when the best one came", () => {
  const best = { metric: "eval/loss", higher_is_better: false, value: 0.1, attempt: 1, samples: 12_345, version: 7, at: "2026-01-10T12:00:00Z", after: 64 }
  expect(whenBest(best)).toBe("after 12.3k samples, 1 min 4 s")
  expect(whenBest({ ...best, attempt: 2, after: null })).toBe("after 12.3k samples, attempt 2")
})
