import { Progress, Tooltip, useComputedColorScheme } from "@mantine/core"
import { seriesColor } from "@/charts/palette"
import type { Exchange } from "@/client"
import { Stat } from "@/components/display/Stat"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { formatBytes, formatCount, formatMoments, formatNumber, formatPercent } from "@/lib/format"
import { savedShare, timeOfPush } from "@/lib/job/exchange"
import classes from "./ExchangePanel.module.css"

/** Where the time of a push goes, what travels, what the codec saves and what it owes. */
export function ExchangePanel() {
  const exchange = useFeed((feed) => feed.job.progress.exchange)
  const codec = useFeed((feed) => feed.job.spec.codec.name)
  if (!exchange) return null
  return (
    <Panel title="Cost per push" subtitle={`Mean of ${formatCount(exchange.pushes)} pushes of all workers in this attempt`}>
      <Split exchange={exchange} />
      <dl className={classes.stats}>
        <Stat label="Sent" value={exchange.raw_bytes > 0 ? formatBytes(exchange.sent_bytes) : "none"} note={sentNote(exchange)} />
        {codec !== "raw" && <Stat label={`Saved by ${codec}`} value={formatPercent(savedShare(exchange))} />}
        {exchange.error !== null && <Stat label="Codec error" value={formatNumber(exchange.error)} note="of the push" />}
        <Stat label="Received" value={exchange.received_bytes > 0 ? formatBytes(exchange.received_bytes) : "none"} />
      </dl>
    </Panel>
  )
}

function sentNote({ raw_bytes }: Exchange): string {
  return raw_bytes > 0 ? `of ${formatBytes(raw_bytes)}` : "in shared memory"
}

function Split({ exchange }: { exchange: Exchange }) {
  const scheme = useComputedColorScheme("light")
  const parts = timeOfPush(exchange).map((part, index) => ({ ...part, color: seriesColor(index, scheme) }))
  const words = parts.map(({ name, share, seconds }) => `${name} ${formatPercent(share, 0)}, ${formatMoments(seconds)}`).join("; ")
  return (
    <>
      <div role="img" aria-label={`Time of a push: ${words}`}>
        <Progress.Root size="lg" aria-hidden>
          {parts.map(({ name, meaning, share, color }) => (
            <Tooltip key={name} label={`${name}: ${meaning}`}>
              <Progress.Section value={share * 100} color={color} withAria={false} />
            </Tooltip>
          ))}
        </Progress.Root>
      </div>
      <ul className={classes.key} aria-hidden>
        {parts.map(({ name, share, seconds, color }) => (
          <li key={name}>
            <span className={classes.swatch} style={{ background: color }} />
            {name} <strong>{formatPercent(share, 0)}</strong> <small>{formatMoments(seconds)}</small>
          </li>
        ))}
      </ul>
    </>
  )
}
