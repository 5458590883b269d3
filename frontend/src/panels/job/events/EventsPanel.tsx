import { Button, Center, UnstyledButton } from "@mantine/core"
import { IconAlertTriangle, IconArrowRight, IconCircleCheck, IconCpu, IconDeviceFloppy, IconFlag, IconPoint, IconRefresh, type Icon } from "@tabler/icons-react"
import { useState, type ReactNode } from "react"
import type { EventKind, JobEvent } from "@/client"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useEventFilter } from "@/hooks/job/useEventFilter"
import { useEvents } from "@/hooks/job/useJobHistory"
import { formatCount, formatMoment } from "@/lib/format"
import { actorName, fits, gathered, isFiltered, messageOf, toneOfEvent } from "@/lib/job/events"
import { EventFilterBar } from "./EventFilterBar"
import classes from "./EventsPanel.module.css"

const ICONS: Partial<Record<EventKind, Icon>> = {
  status: IconArrowRight,
  attempt: IconRefresh,
  process: IconCpu,
  checkpoint: IconDeviceFloppy,
  target: IconFlag,
  warning: IconAlertTriangle,
  resolved: IconCircleCheck,
}

export function EventsPanel() {
  const events = useEvents()
  const [filter, change] = useEventFilter()
  const shown = events.data.filter((event) => fits(event, filter)).reverse()
  const count = isFiltered(filter) ? `${formatCount(shown.length)} of ${formatCount(events.data.length)}` : formatCount(events.data.length)
  return (
    <Panel title="Events" subtitle={`Changes of the job with their authors, latest first: ${count}`}>
      <EventFilterBar events={events.data} />
      <Loaded
        {...events}
        isEmpty={shown.length === 0}
        empty={isFiltered(filter) ? <NoneFits onAll={() => change({ kinds: [], process: null, text: "" })} /> : "The job has no events yet."}
      >
        <ol className={classes.events}>
          {gathered(shown).map((alike) => (
            <Alike key={alike.at(-1)!.seq} events={alike} />
          ))}
        </ol>
      </Loaded>
    </Panel>
  )
}

function NoneFits({ onAll }: { onAll: () => void }) {
  return (
    <>
      No event matches these filters.
      <Center mt="sm">
        <Button size="xs" variant="default" onClick={onAll}>
          Show all events
        </Button>
      </Center>
    </>
  )
}

/** The latest of events that say the same, with the others behind it. */
function Alike({ events: [latest, ...others] }: { events: readonly [JobEvent, ...JobEvent[]] }) {
  const [opened, open] = useState(false)
  return (
    <>
      <Row event={latest}>
        {others.length > 0 && (
          <UnstyledButton className={classes.more} aria-expanded={opened} onClick={() => open(!opened)}>
            {opened ? "Hide" : "Show"} {formatCount(others.length)} more like it, since {formatMoment(others.at(-1)!.time)}
          </UnstyledButton>
        )}
      </Row>
      {opened && others.map((event) => <Row key={event.seq} event={event} />)}
    </>
  )
}

function Row({ event, children }: { event: JobEvent; children?: ReactNode }) {
  const { kind, actor, time } = event
  const Icon = ICONS[kind] ?? IconPoint
  return (
    <li className={classes.event} data-tone={toneOfEvent(event)}>
      <Icon size={16} aria-label={kind} role="img" />
      <span className={classes.message}>
        {messageOf(event)} {children}
      </span>
      <span className={classes.origin}>
        {actorName(actor)} · <time dateTime={time}>{formatMoment(time)}</time>
      </span>
    </li>
  )
}
