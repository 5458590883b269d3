import { Group, Select, TextInput } from "@mantine/core"
import type { JobEvent } from "@/client"
import { ManySelect } from "@/components/inputs/ManySelect"
import { useEventFilter } from "@/hooks/job/useEventFilter"
import { useTyped } from "@/hooks/useTyped"
import { choices } from "@/lib/job/events"

/** Which events are shown; beside each choice, how many it would show. */
export function EventFilterBar({ events }: { events: readonly JobEvent[] }) {
  const [filter, change] = useEventFilter()
  const [typed, setTyped] = useTyped(filter.text, (text) => change({ text }))
  const { kinds, processes } = choices(events, filter)
  return (
    <Group gap="xs" pb="sm" align="flex-start">
      <ManySelect
        size="xs" miw={170} aria-label="Kind" placeholder={filter.kinds.length > 0 ? undefined : "All kinds"} data={labelled(kinds)} clearable
        value={filter.kinds}
        onPick={(pick) => change((now) => ({ kinds: pick(now.kinds) }))}
      />
      <Select
        size="xs" w={150} aria-label="Process" placeholder="All processes" data={labelled(processes)} clearable
        value={filter.process}
        onChange={(process) => change({ process })}
      />
      <TextInput
        size="xs" flex={1} miw={160} type="search" aria-label="Text in the event" placeholder="Text in the event"
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
    </Group>
  )
}

function labelled(counts: ReadonlyMap<string, number>): { value: string; label: string }[] {
  return [...counts].map(([value, count]) => ({ value, label: `${value} (${count})` }))
}
