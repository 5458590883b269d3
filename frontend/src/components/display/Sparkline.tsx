const [WIDTH, HEIGHT, EDGE] = [72, 20, 2]

/** A line of few points without axes, for a cell of a table; its number stands beside it. */
export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  if (values.length < 2) return <svg width={WIDTH} height={HEIGHT} aria-hidden />
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const points = values.map((value, place) => {
    const x = EDGE + (place / (values.length - 1)) * (WIDTH - 2 * EDGE)
    const y = HEIGHT - EDGE - ((value - low) / (high - low || 1)) * (HEIGHT - 2 * EDGE)
    return `${x.toFixed(1)},${y.toFixed(1)}`
  })
  return (
    <svg width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      <polyline points={points.join(" ")} fill="none" stroke="var(--gs-busy)" strokeWidth={1.5} strokeLinejoin="round" strokeLinecap="round" />
    </svg>
  )
}
