import { Tabs } from "@mantine/core"
import { lazy, Suspense, useLayoutEffect, useRef } from "react"
import { useNavigate, useParams, useSearchParams } from "react-router"
import { Loaded } from "@/components/messages/Loaded"
import { useMetricNames } from "@/hooks/charts/useMetricNames"
import { useFeed } from "@/hooks/job/useFeed"
import { loadPart } from "@/lib/browser/parts"
import { EventsPanel } from "./events/EventsPanel"
import { FilesPanel } from "./files/FilesPanel"
import { LogsPanel } from "./logs/LogsPanel"
import { MetricsTab } from "./metrics/MetricsTab"
import { OverviewTab } from "./overview/OverviewTab"
import { WorkersTab } from "./workers/WorkersTab"
import classes from "./JobTabs.module.css"

/** They bring the drawing of charts along. */
const StalenessTab = lazy(() => loadPart(async () => ({ default: (await import("./staleness/StalenessTab")).StalenessTab })))
const TablesTab = lazy(() => loadPart(async () => ({ default: (await import("./tables/TablesTab")).TablesTab })))
const MediaTab = lazy(() => loadPart(async () => ({ default: (await import("./media/MediaTab")).MediaTab })))
const OnlineTab = lazy(() => loadPart(async () => ({ default: (await import("./online/OnlineTab")).OnlineTab })))
const CodeTab = lazy(() => loadPart(async () => ({ default: (await import("./code/CodeTab")).CodeTab })))
/** Brings the YAML writer along, which no other tab needs. */
const ConfigPanel = lazy(() => loadPart(async () => ({ default: (await import("./config/ConfigPanel")).ConfigPanel })))

const FIRST = "overview"
/** Tabs that only some jobs have: those that have measured this metric. */
const NEEDS: Readonly<Record<string, string>> = { media: "worker/media", online: "pass/log_loss", tables: "table/rows" }
const TABS = [
  { value: FIRST, label: "Overview", Content: OverviewTab },
  { value: "metrics", label: "Metrics", Content: MetricsTab },
  { value: "staleness", label: "Staleness", Content: StalenessTab },
  { value: "media", label: "Media", Content: MediaTab },
  { value: "online", label: "Online", Content: OnlineTab },
  { value: "tables", label: "Tables", Content: TablesTab },
  { value: "workers", label: "Workers", Content: WorkersTab },
  { value: "logs", label: "Logs", Content: LogsPanel },
  { value: "events", label: "Events", Content: EventsPanel },
  { value: "files", label: "Files", Content: FilesPanel },
  { value: "code", label: "Code", Content: CodeTab },
  { value: "config", label: "Config", Content: ConfigPanel },
]

/** Names that tabs had once. */
const FORMER: Readonly<Record<string, string>> = { charts: "metrics", processes: "workers" }

/** Which tab is open is the end of the address. Some jobs have further tabs: for their embedding tables, for passes, for logged media. */
export function JobTabs() {
  const { tab } = useParams()
  const [search] = useSearchParams()
  const navigate = useNavigate()
  const id = useFeed((feed) => feed.job.id)
  const asked = FORMER[tab ?? ""] ?? tab
  const names = useMetricNames().data
  const tabs = TABS.filter(({ value }) => !NEEDS[value] || names.includes(NEEDS[value]) || asked === value)
  const opened = TABS.find(({ value }) => value === asked)?.value ?? FIRST
  const open = (value: string | null) =>
    navigate({ pathname: value === FIRST ? `/jobs/${id}` : `/jobs/${id}/${value}`, search: search.toString() }, { replace: true, preventScrollReset: true })
  const list = useInSight(opened)
  return (
    <Tabs value={opened} onChange={open} keepMounted={false}>
      <Tabs.List ref={list} className={classes.list}>
        {tabs.map(({ value, label }) => (
          <Tabs.Tab key={value} value={value}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map(({ value, Content }) => (
        <Tabs.Panel key={value} value={value} pt="md">
          <Suspense fallback={<Loaded isPending>{null}</Loaded>}>
            <Content />
          </Suspense>
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}

/** The list of tabs, in which a narrow page has the opened one brought into sight. */
function useInSight(opened: string) {
  const list = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const tab = list.current?.querySelector<HTMLElement>("[aria-selected=true]")
    if (list.current && tab) list.current.scrollLeft = tab.offsetLeft - (list.current.clientWidth - tab.offsetWidth) / 2
  }, [opened])
  return list
}
