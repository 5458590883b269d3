import { Code, List, Stack, Text } from "@mantine/core"
import type { SlowWorker, StragglerRemedy } from "@/client"
import { Term } from "@/components/messages/Term"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useStragglers } from "@/hooks/job/useStragglers"
import { formatClock } from "@/lib/format"
import { hasEnded } from "@/lib/status"

/** Which workers are slow, since when, why, what that costs, and what would help. Nothing where all are equally fast: the time breakdown says so. */
export function StragglersPanel() {
  const job = useFeed((feed) => feed.job)
  const { message, items = [], cost = null, remedies = [] } = useStragglers(job).data ?? {}
  if (items.length === 0) return null
  const ended = hasEnded(job)
  return (
    <Panel
      title={<Term word="straggler">Stragglers</Term>}
      subtitle={`Workers whose mini-batches ${ended ? "took" : "take"} at least twice as long as the others' in this attempt`}
    >
      <Stack gap="xs">
        <Text size="sm" fw={550}>
          {message}
        </Text>
        <Stragglers items={items} ended={ended} />
        {cost && <Text size="sm">{cost}</Text>}
        {remedies.length > 0 && <Remedies remedies={remedies} title={ended ? "Changes for the next run" : "Changes that would help"} />}
      </Stack>
    </Panel>
  )
}

function Stragglers({ items, ended }: { items: readonly SlowWorker[]; ended: boolean }) {
  return (
    <List size="sm" spacing={4} mah={360} style={{ overflowY: "auto" }} tabIndex={0} aria-label="Slow workers">
      {items.map((item) => (
        <List.Item key={`${item.label} ${item.since}`} style={{ overflowWrap: "anywhere" }}>
          <strong>{item.label}</strong>
          {item.node && ` on ${item.node}`}, <span className="numbers">{item.factor.toFixed(item.factor >= 3 ? 0 : 1)} ×</span> slower, <Span {...item} ended={ended} />. {item.why}
        </List.Item>
      ))}
    </List>
  )
}

/** From when to when it was slow. */
function Span({ since, until, from_start, ended }: SlowWorker & { ended: boolean }) {
  const begin = from_start ? "its start" : <time dateTime={since}>{formatClock(since)}</time>
  if (until === null) return ended ? <>from {begin} to its end</> : <>from {begin} on</>
  return (
    <>
      from {begin} to <time dateTime={until}>{formatClock(until)}</time>
    </>
  )
}

function Remedies({ remedies, title }: { remedies: readonly StragglerRemedy[]; title: string }) {
  return (
    <div>
      <Text size="sm" fw={550}>
        {title}
      </Text>
      <List size="sm" spacing={4} mt={4} aria-label={title}>
        {remedies.map(({ setting, command, message, gain }) => (
          <List.Item key={message} style={{ overflowWrap: "anywhere" }}>
            {(setting ?? command) && <Code>{setting ?? command}</Code>} {message} {gain && <strong>{gain}</strong>}
          </List.Item>
        ))}
      </List>
    </div>
  )
}
