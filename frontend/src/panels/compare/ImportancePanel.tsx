import { Button, Group, Select, Stack, Table, Text } from "@mantine/core"
import { useState } from "react"
import type { Importance, SettingImportance } from "@/client"
import { Loaded } from "@/components/messages/Loaded"
import { useMetric } from "@/hooks/charts/useMetricCatalogue"
import { useSight } from "@/hooks/charts/useSight"
import type { ComparedMetric } from "@/hooks/compare/useComparedMetric"
import { useComparison } from "@/hooks/compare/useComparison"
import { useImportance } from "@/hooks/compare/useImportance"
import type { Runs } from "@/hooks/compare/useRuns"
import { direction, figureField, figureFields, figureName, leftOut, settingNames, verdict } from "@/lib/compare/importance"
import { counted } from "@/lib/format"
import { ComparePanel } from "./ComparePanel"
import classes from "./ImportancePanel.module.css"

const TITLE = "Importance of settings"
/** Settings in sight until all are asked for. */
const FIRST = 8

/** Which of the settings that differ explain a figure of the drawn runs. The server computes it once the panel is in sight. */
export function ImportancePanel({ runs: { drawn, fields }, metric }: { runs: Runs; metric: ComparedMetric }) {
  const [{ explained }, change] = useComparison()
  const { better } = useMetric(metric.name)
  const [element, { width }] = useSight<HTMLDivElement>()
  const field = figureField(fields, explained)
  const found = useImportance(drawn, figureName(field, { name: metric.name, better }), width !== null)
  return (
    <ComparePanel title={TITLE} subtitle="Which settings predict a figure of the ended runs, by a random forest" flush>
      <Select
        size="xs" label="Figure" mx={18} mb="sm" maw={240} data={figureFields(fields).map(({ key, label }) => ({ value: key, label }))} value={field.key} allowDeselect={false} searchable
        onChange={(key) => key && change({ explained: key })}
      />
      <div ref={element}>
        {width === null && !found.data ? (
          <div className={classes.unseen} />
        ) : (
          <Loaded
            isPending={drawn.length > 0 && found.isPending} error={found.error} isLoadingError={!found.data} failureReason={found.failureReason} refetch={found.refetch}
            isEmpty={found.data?.reason !== null} empty={found.data?.reason ?? "No job is drawn."} height={140}
          >
            {found.data && <Ranking found={found.data} format={field.format} />}
          </Loaded>
        )}
      </div>
    </ComparePanel>
  )
}

function Ranking({ found, format }: { found: Importance; format: (value: number) => string }) {
  const [all, setAll] = useState(false)
  const { settings, believed } = found
  const most = Math.max(0, ...settings.map(({ importance }) => importance))
  return (
    <Stack gap="xs">
      <div className={classes.said}>
        <Text size="sm" c={believed ? undefined : "var(--gs-wait)"} role="status">
          {verdict(found)}
        </Text>
        <Text size="xs" c="dimmed">
          {believed && "Coloured settings stand out from chance. "}
          {leftOut(found)}
        </Text>
      </div>
      <Table.ScrollContainer minWidth={620} type="native" role="group" tabIndex={0} aria-label={TITLE}>
        <Table verticalSpacing={6}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Setting</Table.Th>
              <Table.Th title="How much R² falls while the values of the setting are shuffled between the runs: mean and standard deviation">R² lost when shuffled</Table.Th>
              <Table.Th>Direction of the figure</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {settings.slice(0, all ? undefined : FIRST).map((setting) => (
              <Setting key={setting.settings[0]} setting={setting} share={most > 0 ? Math.max(0, setting.importance) / most : 0} standsOut={believed && setting.stands_out} format={format} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {settings.length > FIRST && (
        <Group px={18} pb="xs">
          <Button size="compact-xs" variant="default" onClick={() => setAll(!all)}>
            {all ? `Show the first ${FIRST}` : `Show all ${counted(settings.length, "setting")}`}
          </Button>
        </Group>
      )}
    </Stack>
  )
}

/** Two digits, as an R² has no more to say; 0 has no sign. */
function rounded(value: number): string {
  return (Math.round(value * 100) / 100 || 0).toFixed(2).replace("-", "−")
}

interface SettingProps {
  setting: SettingImportance
  /** Importance as a part of the greatest. */
  share: number
  standsOut: boolean
  format: (value: number) => string
}

function Setting({ setting, share, standsOut, format }: SettingProps) {
  const [name, others] = settingNames(setting.settings)
  return (
    <Table.Tr>
      <Table.Th scope="row" className={classes.setting}>
        {name}
        {others && (
          <Text size="xs" c="dimmed" className={classes.others} title={setting.settings.join("\n")}>
            {others}
          </Text>
        )}
      </Table.Th>
      <Table.Td>
        <div className={classes.measure}>
          <div className={classes.bar} data-stands-out={standsOut || undefined} style={{ width: `${share * 100}%` }} />
          <span className="numbers">
            {rounded(setting.importance)}{" "}
            <Text span size="xs" c="dimmed">
              ± {rounded(setting.spread)}
            </Text>
          </span>
        </div>
      </Table.Td>
      <Table.Td className={classes.direction}>{direction(setting, format)}</Table.Td>
    </Table.Tr>
  )
}
