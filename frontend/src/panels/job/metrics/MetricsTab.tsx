import { Group, Modal, SimpleGrid, Stack, Text, TextInput, UnstyledButton } from "@mantine/core"
import { useViewportSize } from "@mantine/hooks"
import { IconChevronDown, IconChevronRight, IconSearch } from "@tabler/icons-react"
import { Suspense, useRef, useState } from "react"
import { Loaded } from "@/components/messages/Loaded"
import { toggled, useChartSettings } from "@/hooks/charts/useChartSettings"
import { useCatalogue, useMetric } from "@/hooks/charts/useMetricCatalogue"
import { useMetricNames } from "@/hooks/charts/useMetricNames"
import { useNothing } from "@/hooks/job/useNothing"
import { useChartKeys, useKeys } from "@/hooks/useKeys"
import { useTyped } from "@/hooks/useTyped"
import { useChartLayout, type UsedLayout } from "@/hooks/views/useChartLayout"
import { metricGroups, type MetricGroup } from "@/lib/charts/metrics"
import { ShardsPanel } from "@/panels/job/workers/ShardsPanel"
import { ChartGrid } from "./ChartGrid"
import { ChartToolbar } from "./ChartToolbar"
import { ExchangePanel } from "./ExchangePanel"
import { LayoutMenu } from "./LayoutMenu"
import { MetricPanel } from "./lazyMetricPanel"
import { LentLayout } from "./LentLayout"
import classes from "./MetricsTab.module.css"

/** Every metric that the job measures, in groups. */
export function MetricsTab() {
  const names = useMetricNames()
  const catalogue = useCatalogue()
  const [{ pinned, search, full }, change] = useChartSettings()
  const used = useChartLayout()
  const height = useHeight(used)
  const groups = metricGroups(catalogue, names.data, pinned, search)
  const isPending = names.isPending || used.isPending
  const isShown = ({ names }: MetricGroup) => names.some((name) => !used.layout.hidden.includes(name))
  const nothing = useNothing()
  const empty = search ? "No metric matches this search." : nothing("No value has been measured")
  useChartKeys()
  return (
    <>
      <ChartToolbar />
      <Group mb="md" gap="sm" justify="space-between" align="flex-start">
        <Search />
        <LayoutMenu used={used} {...height} />
      </Group>
      <LentLayout used={used} />
      <Loaded {...names} isPending={isPending} isEmpty={!groups.some(isShown)} empty={groups.length > 0 ? "All charts are hidden. Layout shows them again." : empty}>
        <Stack gap="lg">
          {groups.filter(isShown).map((group) => (
            <ChartGroup key={group.key} group={group} used={used} {...height} />
          ))}
        </Stack>
      </Loaded>
      {!search && !isPending && (
        <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md" mt="lg">
          <ExchangePanel />
          <ShardsPanel />
        </SimpleGrid>
      )}
      <FullScreen name={full} onClose={() => change({ full: null })} />
    </>
  )
}

function Search() {
  const [{ search }, change] = useChartSettings()
  const [text, setText] = useTyped(search, (typed) => change({ search: typed }))
  const field = useRef<HTMLInputElement>(null)
  useKeys("Metrics", [{ keys: ["/"], label: "Search", run: () => field.current?.focus() }])
  return (
    <TextInput
      ref={field}
      size="xs" w={{ base: 200, sm: 340 }} type="search" leftSection={<IconSearch size={14} />}
      aria-label="Search metrics" aria-keyshortcuts="/" placeholder="Search metrics"
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
    />
  )
}

interface Height {
  height: number
  onHeight: (height: number, done: boolean) => void
}

/** The height of all charts: that of the layout, or while one drags, what it would be. */
function useHeight({ layout, change }: UsedLayout): Height {
  const [dragged, setDragged] = useState<number | null>(null)
  const onHeight = (height: number, done: boolean) => {
    setDragged(done ? null : height)
    if (done && height !== layout.height) change(() => ({ height }))
  }
  return { height: dragged ?? layout.height, onHeight }
}

function ChartGroup({ group: { key, title, names }, ...grid }: { group: MetricGroup; used: UsedLayout } & Height) {
  const [{ folded }, change] = useChartSettings()
  const open = !folded.includes(key)
  const Icon = open ? IconChevronDown : IconChevronRight
  return (
    <section aria-label={title}>
      <UnstyledButton className={classes.fold} aria-expanded={open} onClick={() => change((now) => ({ folded: toggled(now.folded, key) }))}>
        <Icon size={16} aria-hidden /> {title}
        <Text span size="sm" c="dimmed" fw={400}>
          {names.length}
        </Text>
      </UnstyledButton>
      {open && <ChartGrid names={names} {...grid} />}
    </section>
  )
}

/** Title, legend and axes of a chart need this much beside it. */
const AROUND = 250

function FullScreen({ name, onClose }: { name: string | null; onClose: () => void }) {
  const { width, height } = useViewportSize()
  const { title } = useMetric(name ?? "")
  const left = useRef("")
  const close = () => {
    left.current = title
    onClose()
  }
  /** The item of the menu that opened it is gone, so the menu's button gets the focus. */
  const giveFocusBack = () => document.querySelector<HTMLElement>(`[aria-label=${JSON.stringify(`More for ${left.current}`)}]`)?.focus()
  return (
    <Modal
      opened={name !== null} onClose={close} fullScreen title={title} closeButtonProps={{ "aria-label": "Leave full screen" }}
      transitionProps={{ duration: 0 }} returnFocus={false} onExitTransitionEnd={giveFocusBack}
    >
      {name && width > 0 && (
        <Suspense fallback={<Loaded isPending>{null}</Loaded>}>
          <ChartToolbar />
          <MetricPanel name={name} width={Math.ceil(width / 100) * 100} height={Math.max(200, height - AROUND)} />
        </Suspense>
      )}
    </Modal>
  )
}
