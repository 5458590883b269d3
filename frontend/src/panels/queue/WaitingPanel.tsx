import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useQueue } from "@/hooks/platform/useQueue"
import { counted } from "@/lib/format"
import { WaitingTable } from "./WaitingTable"

export function WaitingPanel() {
  const queue = useQueue()
  const items = queue.data?.waiting ?? []
  const total = queue.data?.waiting_total ?? 0
  const waits = `${counted(total, "job")} ${total === 1 ? "waits" : "wait"}`
  return (
    <Panel title="Waiting" subtitle={total > items.length ? `${waits}; the first ${items.length} are shown` : total > 0 && waits} flush>
      <Loaded {...queue} isEmpty={items.length === 0} empty="No job is waiting.">
        <WaitingTable jobs={items} total={total} />
      </Loaded>
    </Panel>
  )
}
