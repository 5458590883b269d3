import { useComputedColorScheme } from "@mantine/core"
import { useElementSize } from "@mantine/hooks"
import { seriesColor } from "@/charts/palette"
import plot from "@/charts/Plot.module.css"
import type { UpdateGroup } from "@/client"
import { formatNumber } from "@/lib/format"
import { groupName, groupTick, normScale, type GroupedBy } from "@/lib/staleness/updates"
import classes from "./NormBands.module.css"

interface NormBandsProps {
  groups: readonly UpdateGroup[]
  by: GroupedBy
  title: string
  height?: number
}

const [LEFT, RIGHT, TOP, BOTTOM] = [56, 8, 10, 40]
const LABELS = 8
const DOT = 3.5
/** Half of a bar's width, at most. */
const HALF = 14

/** The median norm of each group, with a bar from the 10 % quantile to the 90 % quantile. */
export function NormBands({ groups, by, title, height = 262 }: NormBandsProps) {
  const { ref, width } = useElementSize<HTMLDivElement>()
  const color = seriesColor(0, useComputedColorScheme("light"))
  const scale = normScale(groups)
  if (!scale) return <p>All of these vectors are zero.</p>
  const step = Math.max(0, width - LEFT - RIGHT) / groups.length
  const across = (index: number) => LEFT + (index + 0.5) * step
  const up = (norm: number) => TOP + (height - TOP - BOTTOM) * (1 - scale.place(norm))
  const half = Math.min(HALF, step / 3)
  const every = Math.ceil(groups.length / LABELS)
  const said = groups.map((group) => `${groupName(group, by)}: ${formatNumber(group.norm.p50)}, from ${formatNumber(group.norm.p10)} to ${formatNumber(group.norm.p90)}`)
  return (
    <div ref={ref} className={plot.plot}>
      <svg width="100%" height={height} role="img" aria-label={`${title}. ${said.join("; ")}`}>
        {scale.ticks.map((tick) => (
          <g key={tick}>
            <line x1={LEFT} x2={Math.max(LEFT, width - RIGHT)} y1={up(tick)} y2={up(tick)} className={plot.grid} />
            <text x={LEFT - 6} y={up(tick) + 4} textAnchor="end" className={plot.tick}>
              {formatNumber(tick)}
            </text>
          </g>
        ))}
        <polyline points={groups.map(({ norm }, index) => `${across(index)},${up(norm.p50)}`).join(" ")} className={classes.line} stroke={color} />
        {groups.map((group, index) => (
          <g key={group.low}>
            <title>{said[index]}</title>
            <rect x={across(index) - half} width={2 * half} y={up(group.norm.p90)} height={Math.max(2, up(group.norm.p10) - up(group.norm.p90))} rx={3} fill={color} className={classes.band} />
            <circle cx={across(index)} cy={up(group.norm.p50)} r={DOT} fill={color} />
            {index % every === 0 && (
              <text x={across(index)} y={height - BOTTOM + 16} textAnchor="middle" className={plot.tick}>
                {groupTick(group, by)}
              </text>
            )}
          </g>
        ))}
        <text x={LEFT + (groups.length * step) / 2} y={height - 6} textAnchor="middle" className={plot.tick}>
          {by === "staleness" ? "Staleness of the push, updates" : "Samples"}
        </text>
      </svg>
    </div>
  )
}
