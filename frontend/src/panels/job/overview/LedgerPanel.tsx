import { Text } from "@mantine/core"
import type { Account, Dealt } from "@/client"
import { Loaded } from "@/components/messages/Loaded"
import { Term } from "@/components/messages/Term"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useNothing } from "@/hooks/job/useNothing"
import { useOverview } from "@/hooks/job/useOverview"
import { formatCount } from "@/lib/format"
import { OUTCOMES, noLedger, outcomeTitle, whyDropped } from "@/lib/job/ledger"
import classes from "./LedgerPanel.module.css"

/** Outcomes of all pushes. */
export function LedgerPanel() {
  const job = useFeed((feed) => feed.job)
  const overview = useOverview(job)
  const { version, dealt } = job.progress
  const ledger = overview.data?.ledger
  const nothing = useNothing()
  return (
    <Panel title={<Term word="ledger">Ledger</Term>} subtitle="Outcome of every push of all workers, in all attempts">
      <Loaded {...overview} isEmpty={!ledger} empty={noLedger(version, nothing)}>
        {ledger && <Line ledger={ledger} />}
        {dealt && <Dealing dealt={dealt} />}
      </Loaded>
    </Panel>
  )
}

function Line({ ledger }: { ledger: Account }) {
  return (
    <dl className={classes.line}>
      <Sum name="pushed" count={ledger.pushed} meaning="by the workers" sign="" />
      {OUTCOMES.map(({ name, meaning }, index) => (
        <Sum key={name} name={outcomeTitle(name)} count={ledger[name]} meaning={name === "dropped" ? whyDropped(ledger) : meaning} sign={index === 0 ? "=" : "+"} />
      ))}
    </dl>
  )
}

/** Where the mini-batches are, if the servers deal them on demand. */
function Dealing({ dealt }: { dealt: Dealt }) {
  return (
    <dl className={classes.line} aria-label="Mini-batches">
      <Sum name="planned" count={dealt.planned} meaning="mini-batches, dealt on demand" sign="" />
      <Sum name="trained" count={dealt.trained} meaning="in pushes that counted" sign="=" />
      <Sum name="dropped" count={dealt.dropped} meaning="NaN or infinite" sign="+" />
      <Sum name="outstanding" count={dealt.outstanding} meaning="at the workers" sign="+" />
      <Sum name="returned" count={dealt.returned} meaning="by lost workers" sign="+" />
      <Sum name="left" count={dealt.left} meaning="to be dealt" sign="+" />
    </dl>
  )
}

function Sum({ name, count, meaning, sign }: { name: string; count: number; meaning: string; sign: string }) {
  return (
    <div className={classes.term} data-none={count === 0 || undefined}>
      <span className={classes.sign} aria-hidden>
        {sign}
      </span>
      <dt>{name}</dt>
      <dd>
        <strong>{formatCount(count)}</strong>
        <Text span size="xs" c="dimmed">
          {meaning}
        </Text>
      </dd>
    </div>
  )
}
