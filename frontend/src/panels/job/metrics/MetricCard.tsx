import { Title } from "@mantine/core"
import { lazy, Suspense } from "react"
import { Loaded } from "@/components/messages/Loaded"
import { useMetric } from "@/hooks/charts/useMetricCatalogue"
import { useSight } from "@/hooks/charts/useSight"
import { loadPart } from "@/lib/browser/parts"
import classes from "./MetricCard.module.css"

/** Brings the drawing of charts along, which pages without any need not. */
const MetricPanel = lazy(() => loadPart(async () => ({ default: (await import("./MetricPanel")).MetricPanel })))

/** A metric's place on the page. Only while it is in sight does it ask and draw: thousands of them cost little. */
export function MetricCard({ name }: { name: string }) {
  const { title } = useMetric(name)
  const [element, { width, height }] = useSight<HTMLDivElement>()
  return (
    <div ref={element} className={classes.card} style={{ minHeight: height }}>
      {width === null ? (
        <Title order={2} className={classes.title}>
          {title}
        </Title>
      ) : (
        <Suspense fallback={<Loaded isPending>{null}</Loaded>}>
          <MetricPanel name={name} width={width} />
        </Suspense>
      )}
    </div>
  )
}
