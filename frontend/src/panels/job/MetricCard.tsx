import { Title } from "@mantine/core"
import { lazy, Suspense } from "react"
import { Loaded } from "@/components/Loaded"
import { useSight } from "@/hooks/useSight"
import { metricTitle } from "@/lib/metrics"
import { loadPart } from "@/lib/parts"
import classes from "./MetricCard.module.css"

/** Brings the drawing of charts along, which pages without any need not. */
const MetricPanel = lazy(() => loadPart(async () => ({ default: (await import("./MetricPanel")).MetricPanel })))

/** A metric's place on the page. Only while it is in sight does it ask and draw: thousands of them cost little. */
export function MetricCard({ name }: { name: string }) {
  const [element, { width, height }] = useSight<HTMLDivElement>()
  return (
    <div ref={element} className={classes.card} style={{ minHeight: height }}>
      {width === null ? (
        <Title order={2} className={classes.title}>
          {metricTitle(name)}
        </Title>
      ) : (
        <Suspense fallback={<Loaded isPending>{null}</Loaded>}>
          <MetricPanel name={name} width={width} />
        </Suspense>
      )}
    </div>
  )
}
