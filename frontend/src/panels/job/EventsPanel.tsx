import { IconAlertTriangle, IconArrowRight, IconCpu, IconDeviceFloppy, IconFlag, IconPoint, IconRefresh, type Icon } from "@tabler/icons-react"
import type { JobEvent } from "@/client"
import { Loaded } from "@/components/Loaded"
import { Panel } from "@/components/Panel"
import { useEvents } from "@/hooks/useJobHistory"
import { formatMoment } from "@/lib/format"
import classes from "./EventsPanel.module.css"

const ICONS: Record<string, Icon> = {
  status: IconArrowRight,
  attempt: IconRefresh,
  process: IconCpu,
  cut: IconDeviceFloppy,
  target: IconFlag,
  warning: IconAlertTriangle,
}

export function EventsPanel() {
  const events = useEvents()
  return (
    <Panel title="Events" subtitle="What happened to the job and who did it, latest first">
      <Loaded {...events} isEmpty={events.data.length === 0}>
        <ol className={classes.events}>
          {events.data.toReversed().map((event) => (
            <Row key={event.seq} event={event} />
          ))}
        </ol>
      </Loaded>
    </Panel>
  )
}

function Row({ event: { kind, message, actor, time } }: { event: JobEvent }) {
  const Icon = ICONS[kind] ?? IconPoint
  return (
    <li className={classes.event} data-kind={kind}>
      <Icon size={16} aria-label={kind} role="img" />
      <span className={classes.message}>{message}</span>
      <span className={classes.origin}>
        {actor} · <time dateTime={time}>{formatMoment(time)}</time>
      </span>
    </li>
  )
}
