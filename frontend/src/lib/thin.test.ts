import { describe, expect, it } from "vitest"
import { thin } from "./thin"

const wave = Array.from({ length: 10_000 }, (_, index) => ({ index, value: Math.sin(index / 50) }))

describe("thin", () => {
  it("returns few points as they are", () => {
    expect(thin(wave.slice(0, 100), 100)).toHaveLength(100)
  })

  it("keeps about as many as asked, in order, with both ends", () => {
    const kept = thin(wave, 1000)
    expect(kept.length).toBeLessThanOrEqual(1250)
    expect(kept.map((p) => p.index)).toEqual(kept.map((p) => p.index).sort((a, b) => a - b))
    expect(kept[0]!.index).toBe(0)
    expect(kept.at(-1)!.index).toBe(9999)
  })

  it("never loses a single spike or a NaN", () => {
    const points = wave.map((p) => (p.index === 4711 ? { ...p, value: 99 } : p.index === 5000 ? { ...p, value: NaN } : p))
    const values = thin(points, 200).map((p) => p.value)
    expect(values).toContain(99)
    expect(values.some(Number.isNaN)).toBe(true)
  })

  it("finds extremes of a bucket that begins with NaN", () => {
    const points = wave.slice(0, 400).map((p) => (p.index === 0 ? { ...p, value: NaN } : p.index === 2 ? { ...p, value: 50 } : p))
    expect(thin(points, 40).map((p) => p.value)).toContain(50)
  })
})
