import { IconBan, IconCheck, IconClock, IconHourglass, IconLoader2, IconPlayerPause, IconPlayerStop, IconX, IconLogout, IconDropletOff, type Icon } from "@tabler/icons-react"
import { readable, toneOf } from "@/lib/status"
import classes from "./StatusBadge.module.css"

const ICONS: Record<string, Icon> = {
  queued: IconClock,
  assigned: IconClock,
  preparing: IconLoader2,
  starting: IconLoader2,
  running: IconLoader2,
  stopping: IconPlayerStop,
  stopped: IconPlayerStop,
  paused: IconPlayerPause,
  succeeded: IconCheck,
  ready: IconCheck,
  draining: IconDropletOff,
  exited: IconLogout,
  failed: IconX,
  lost: IconX,
  unavailable: IconX,
  cancelled: IconBan,
  timed_out: IconHourglass,
}

/** A status by word, icon and colour: each alone is enough. */
export function StatusBadge({ status }: { status: string }) {
  const Icon = ICONS[status] ?? IconClock
  return (
    <span className={classes.badge} data-tone={toneOf(status)} data-status={status}>
      <Icon size={14} stroke={2.2} className={Icon === IconLoader2 ? classes.turning : undefined} aria-hidden />
      {readable(status)}
    </span>
  )
}
