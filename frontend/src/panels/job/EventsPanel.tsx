import { Button, Center } from "@mantine/core"
import { IconAlertTriangle, IconArrowRight, IconCpu, IconDeviceFloppy, IconFlag, IconPoint, IconRefresh, type Icon } from "@tabler/icons-react"
import type { JobEvent } from "@/client"
import { Loaded } from "@/components/Loaded"
import { Panel } from "@/components/Panel"
import { useEventFilter } from "@/hooks/useEventFilter"
import { useEvents } from "@/hooks/useJobHistory"
import { fits, isFiltered } from "@/lib/events"
import { formatCount, formatMoment } from "@/lib/format"
import { EventFilterBar } from "./EventFilterBar"
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
  const [filter, change] = useEventFilter()
  const shown = events.data.filter((event) => fits(event, filter)).reverse()
  const count = isFiltered(filter) ? `${formatCount(shown.length)} of ${formatCount(events.data.length)}` : formatCount(events.data.length)
  return (
    <Panel title="Events" subtitle={`What happened to the job and who did it, latest first: ${count}`}>
      <EventFilterBar events={events.data} />
      <Loaded
        {...events}
        isEmpty={shown.length === 0}
        empty={isFiltered(filter) ? <NoneFits onAll={() => change({ kinds: [], process: null, text: "" })} /> : "Nothing has happened yet."}
      >
        <ol className={classes.events}>
          {shown.map((event) => (
            <Row key={event.seq} event={event} />
          ))}
        </ol>
      </Loaded>
    </Panel>
  )
}

function NoneFits({ onAll }: { onAll: () => void }) {
  return (
    <>
      No event fits these filters.
      <Center mt="sm">
        <Button size="xs" variant="default" onClick={onAll}>
          Show all events
        </Button>
      </Center>
    </>
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
