import { describe, expect, it } from "vitest"
import { DARK, GREYS, LIGHT, quietLook, seriesColor, seriesDash, type QuietLook, type Scheme } from "./palette"

const CARDS = { light: "#ffffff", dark: "#161e26" }

describe.each([["light", LIGHT], ["dark", DARK]] as [Scheme, string[]][])("in %s colours", (scheme, colors) => {
  it("has twelve, any two more than 20 apart in CIEDE2000", () => {
    expect(colors.length).toBeGreaterThanOrEqual(12)
    const apart = colors.flatMap((one, at) => colors.slice(at + 1).map((other) => ({ one, other, deltaE: deltaE(lab(one), lab(other)) })))
    expect(apart.filter(({ deltaE }) => deltaE <= 20)).toEqual([])
  })

  it("stands out from the card", () => {
    const faint = [...colors, seriesColor(-1, scheme), ...Object.values(GREYS[scheme])].filter((color) => contrast(color, CARDS[scheme]) < 3)
    expect(faint).toEqual([])
  })
})

describe.each([["light", LIGHT], ["dark", DARK]] as [Scheme, string[]][])("greys of what is no work, in %s colours", (scheme, colors) => {
  const { pale, strong } = GREYS[scheme]

  it("are apart by lightness alone, as colour-blind readers see them", () => {
    expect(Math.abs(lab(pale)[0] - lab(strong)[0])).toBeGreaterThan(20)
    expect(deltaE(lab(pale), lab(strong))).toBeGreaterThan(20)
  })

  it("are apart from the colours of the work, of which a bar has six", () => {
    const alike = [pale, strong].flatMap((grey) => colors.slice(0, 6).filter((color) => deltaE(lab(grey), lab(color)) <= 20))
    expect(alike).toEqual([])
  })

  it("give each look a background of its own", () => {
    const looks: QuietLook[] = ["pale", "strong", "striped", "hatched"]
    expect(new Set(looks.map((look) => quietLook(look, scheme))).size).toBe(4)
  })
})

it("tells 48 lines apart by colour and dashes", () => {
  const looks = Array.from({ length: 48 }, (_, index) => `${seriesColor(index, "light")} ${seriesDash(index).join(" ")}`)
  expect(new Set(looks).size).toBe(48)
})

it("computes differences as their authors did", () => {
  // Sharma, Wu and Dalal, The CIEDE2000 Color-Difference Formula, pairs 1 and 17
  expect(deltaE([50, 2.6772, -79.7751], [50, 0, -82.7485])).toBeCloseTo(2.0425, 3)
  expect(deltaE([50, 2.5, 0], [73, 25, -18])).toBeCloseTo(27.1492, 3)
})

type Lab = [number, number, number]

function linear(color: string): Lab {
  return [1, 3, 5].map((at) => {
    const part = parseInt(color.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  }) as Lab
}

function luminance(color: string): number {
  const [r, g, b] = linear(color)
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(one: string, other: string): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (high! + 0.05) / (low! + 0.05)
}

function lab(color: string): Lab {
  const [r, g, b] = linear(color)
  const f = (value: number) => (value > 216 / 24389 ? Math.cbrt(value) : ((24389 / 27) * value + 16) / 116)
  const x = f((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047)
  const y = f(0.2126729 * r + 0.7151522 * g + 0.072175 * b)
  const z = f((0.0193339 * r + 0.119192 * g + 0.9503041 * b) / 1.08883)
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)]
}

function deltaE([l1, a1, b1]: Lab, [l2, a2, b2]: Lab): number {
  const radians = (degrees: number) => (degrees * Math.PI) / 180
  const chroma = (Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2
  const g = 1.5 - Math.sqrt(chroma ** 7 / (chroma ** 7 + 25 ** 7)) / 2
  const [c1, c2] = [Math.hypot(g * a1, b1), Math.hypot(g * a2, b2)]
  const hue = (a: number, b: number) => ((Math.atan2(b, g * a) * 180) / Math.PI + 360) % 360
  const [h1, h2] = [hue(a1, b1), hue(a2, b2)]
  const turn = c1 * c2 === 0 ? 0 : ((h2 - h1 + 540) % 360) - 180
  const h = c1 * c2 === 0 ? h1 + h2 : h1 + turn / 2
  const [l, c] = [(l1 + l2) / 2, (c1 + c2) / 2]
  const t = 1 - 0.17 * Math.cos(radians(h - 30)) + 0.24 * Math.cos(radians(2 * h)) + 0.32 * Math.cos(radians(3 * h + 6)) - 0.2 * Math.cos(radians(4 * h - 63))
  const byL = (l2 - l1) / (1 + (0.015 * (l - 50) ** 2) / Math.sqrt(20 + (l - 50) ** 2))
  const byC = (c2 - c1) / (1 + 0.045 * c)
  const byH = (2 * Math.sqrt(c1 * c2) * Math.sin(radians(turn / 2))) / (1 + 0.015 * c * t)
  const rotation = -Math.sin(radians(60 * Math.exp(-(((((h + 360) % 360) - 275) / 25) ** 2)))) * 2 * Math.sqrt(c ** 7 / (c ** 7 + 25 ** 7))
  return Math.sqrt(byL ** 2 + byC ** 2 + byH ** 2 + rotation * byC * byH)
}
