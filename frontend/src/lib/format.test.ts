import { describe, expect, it } from "vitest"
import { counted, formatAccuracy, formatAgo, formatBytes, formatDuration, formatFigure, formatMoments, formatNumber, formatPercent } from "./format"

it.each([[0, "0"], [0.01234, "0.0123"], [4.5678, "4.57"], [12, "12"], [1234.5, "1235"], [999.6, "1000"], [12_345, "12.3k"], [2_000_000, "2M"], [0.00001, "1.0e-5"], [2e14, "200T"], [-3.64e33, "-3.6e33"], [NaN, "NaN"], [null, "–"]])(
  "writes the number %s as %s",
  (value, text) => expect(formatNumber(value)).toBe(text),
)

it.each([[0, "0"], [0.9, "0.900"], [0.01234, "0.0123"], [0.00131, "0.00131"], [4.6e-4, "4.60e-4"], [99.96, "100"], [776.4, "776"], [12_104, "12,104"], [2.5e7, "2.50e7"], [NaN, "NaN"], [null, "–"]])(
  "writes %s in a column of figures as %s",
  (value, text) => expect(formatFigure(value)).toBe(text),
)

it.each([[0.42, "0.4 s"], [3, "3 s"], [59.6, "1 min"], [200, "3 min 20 s"], [7500, "2 h 5 min"], [273_600, "3 d 4 h"], [null, "–"]])(
  "writes a duration of %s s as %s",
  (seconds, text) => expect(formatDuration(seconds)).toBe(text),
)

it.each([[0.00085, "850 µs"], [0.002149, "2.15 ms"], [0.25, "250 ms"], [0, "0 µs"], [12, "12 s"], [null, "–"]])(
  "writes a short time of %s s as %s",
  (seconds, text) => expect(formatMoments(seconds)).toBe(text),
)

it.each([[512, "512 B"], [0.5, "0.5 B"], [999.9, "1000 B"], [1500, "1.5 kB"], [64_000_000, "64 MB"]])("writes %s bytes as %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text)
})

it.each([[0, "0 jobs"], [1, "1 job"], [1200, "1,200 jobs"]])("counts %s as %s", (count, text) => expect(counted(count, "job")).toBe(text))

it("writes a share in per cent", () => {
  expect(formatPercent(0.9756)).toBe("97.6 %")
})

it.each([[0.9756, "97.6 %"], [1, "100.0 %"], [97.2, "97.2"], [-0.5, "-0.5"], [null, "–"]])("writes an accuracy of %s as %s", (value, text) => {
  expect(formatAccuracy(value)).toBe(text)
})

describe("formatAgo", () => {
  const now = Date.parse("2026-01-10T12:00:00Z")

  it.each([["2026-01-10T11:59:58Z", "just now"], ["2026-01-10T11:59:18Z", "42 s ago"], ["2026-01-10T11:30:00Z", "30 min ago"], ["2026-01-10T09:00:00Z", "3 h ago"]])(
    "%s is %s",
    (iso, text) => expect(formatAgo(iso, now)).toBe(text),
  )

  it("gives the date of what is older than a day", () => {
    expect(formatAgo("2026-01-02T12:00:00Z", now)).toBe("Jan 2, 2026")
  })
})
