import { Group, Paper, Text, Title } from "@mantine/core"
import { useId, type ReactNode } from "react"
import type { TourStop } from "@/lib/tour/stops"
import classes from "./Panel.module.css"

interface PanelProps {
  title?: ReactNode
  subtitle?: ReactNode
  actions?: ReactNode
  /** Without padding around the children, for tables and logs that reach to the edges. */
  flush?: boolean
  /** Over all columns of a grid. */
  wide?: boolean
  /** Little space, and one line of each title. */
  compact?: boolean
  /** The step of the tour that explains it. */
  tour?: TourStop
  children: ReactNode
}

export function Panel({ title, subtitle, actions, flush = false, wide = false, compact = false, tour, children }: PanelProps) {
  const id = useId()
  return (
    <Paper component="section" className={classes.panel} data-wide={wide || undefined} data-compact={compact || undefined} data-tour={tour} aria-labelledby={title ? id : undefined}>
      {title && (
        <Group className={classes.header} justify="space-between" align="flex-start" wrap="nowrap" gap="sm">
          <div className={classes.titles}>
            <Title order={2} id={id}>
              {title}
            </Title>
            {subtitle && (
              <Text size="xs" c="dimmed" className={classes.subtitle}>
                {subtitle}
              </Text>
            )}
          </div>
          {actions && (
            <Group gap="xs" wrap="wrap" justify="flex-end">
              {actions}
            </Group>
          )}
        </Group>
      )}
      <div className={flush ? classes.flush : classes.body}>{children}</div>
    </Paper>
  )
}
