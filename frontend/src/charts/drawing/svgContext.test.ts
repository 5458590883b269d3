import { expect, it } from "vitest"
import { SvgContext } from "./svgContext"

it("writes lines, shapes and words with their styles", () => {
  const svg = new SvgContext()
  svg.strokeStyle = svg.fillStyle = "#1122332e"
  svg.lineWidth = 2
  svg.setLineDash([6, 4])
  svg.beginPath()
  svg.moveTo(1, 2)
  svg.lineTo(3.04, 4)
  svg.stroke()
  svg.globalAlpha = 0.5
  svg.fillStyle = "red"
  svg.beginPath()
  svg.arc(10, 10, 2)
  svg.fill()
  svg.font = "22px Inter"
  svg.textAlign = "right"
  svg.fillText("3 < 4", 5, 6)
  expect(svg.markup.split("/>")).toEqual([
    '<path d="M1.0 2.0L3.0 4.0" fill="none" stroke="#112233" stroke-opacity="0.18" stroke-width="2" stroke-linejoin="miter" stroke-dasharray="6 4"',
    '<path d="M8.0 10.0a2.0 2.0 0 1 0 4.0 0.0a2.0 2.0 0 1 0 -4.0 0.0" fill="red" fill-opacity="0.5"',
    '<text x="5" y="6" font-size="22" text-anchor="end" fill="red" fill-opacity="0.5">3 &lt; 4</text>',
  ])
})

it("clips until the styles of before are back", () => {
  const svg = new SvgContext()
  svg.lineWidth = 3
  svg.save()
  svg.lineWidth = 5
  svg.setLineDash([1])
  svg.beginPath()
  svg.rect(0, 1, 2, 3)
  svg.clip()
  svg.restore()
  svg.beginPath()
  svg.moveTo(0, 0)
  svg.stroke()
  const [clip, line] = svg.markup.split("</g>")
  expect(clip).toBe('<clipPath id="clip-1"><path d="M0.0 1.0h2v3h-2Z"/></clipPath><g clip-path="url(#clip-1)">')
  expect(line).toContain('stroke-width="3"')
  expect(line).not.toContain("dasharray")
})
