import { Paper, Title } from "@mantine/core"
import { Suspense } from "react"
import { Loaded } from "@/components/messages/Loaded"
import { useMetric } from "@/hooks/charts/useMetricCatalogue"
import { useSight } from "@/hooks/charts/useSight"
import { useArrangement } from "@/hooks/views/useArrangement"
import { MetricPanel } from "./lazyMetricPanel"
import classes from "./MetricCard.module.css"

/** Pixels of title and legend around a plot in a grid: kept free, so that nothing moves when the chart comes. */
const AROUND = 76

/** A metric's place on the page. Only while it is in sight does it ask and draw: thousands of them cost little. */
export function MetricCard({ name, wide = false }: { name: string; wide?: boolean }) {
  const { title } = useMetric(name)
  const [element, { width, height }] = useSight<HTMLDivElement>()
  const arrangement = useArrangement()
  const reserved = arrangement?.height === undefined ? height : arrangement.height + AROUND
  return (
    <div ref={element} className={classes.card} data-wide={wide || undefined} style={{ minHeight: reserved }}>
      {width === null ? (
        <Paper className={classes.place}>
          <Title order={2}>{title}</Title>
        </Paper>
      ) : (
        <Suspense fallback={<Loaded isPending>{null}</Loaded>}>
          <MetricPanel name={name} width={width} height={arrangement?.height} />
        </Suspense>
      )}
    </div>
  )
}
