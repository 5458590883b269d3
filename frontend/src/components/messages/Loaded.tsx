import { Alert, Button, Center, Loader, Stack, Text, ThemeIcon } from "@mantine/core"
import { IconAlertTriangle, IconInbox, type Icon } from "@tabler/icons-react"
import type { ReactNode } from "react"
import { Problem } from "@/client"

interface LoadedProps {
  isPending?: boolean
  error?: Error | null
  /** False: it was had before, and could only not be read again. The known data stays in sight, with a word about its age. */
  isLoadingError?: boolean
  refetch?: () => unknown
  isEmpty?: boolean
  /** Said when there is nothing to show. */
  empty?: ReactNode
  emptyIcon?: Icon
  height?: number
  children: ReactNode
}

/** Owns what is shown while something loads, when it could not be had, and when there is nothing; panels do not. */
export function Loaded({ isPending, error, isLoadingError = true, refetch, isEmpty, empty = "Nothing yet.", emptyIcon = IconInbox, height = 160, children }: LoadedProps) {
  if (error && isLoadingError) return <Failed error={error} retry={refetch} />
  if (isPending) {
    return (
      <Center mih={height}>
        <Loader type="dots" role="status" aria-label="Loading" />
      </Center>
    )
  }
  if (isEmpty) return <Empty icon={emptyIcon} height={height} says={empty} />
  return (
    <>
      {error && <Outdated error={error} />}
      {children}
    </>
  )
}

function Outdated({ error }: { error: Error }) {
  return (
    <Text size="xs" c="var(--gs-wait)" role="status">
      Last known state: {reasonOf(error)}
    </Text>
  )
}

function reasonOf(error: Error): string {
  return error instanceof TypeError ? "the server cannot be reached." : error.message
}

function Failed({ error, retry }: { error: Error; retry: (() => unknown) | undefined }) {
  const title = error instanceof Problem ? error.title : "Loading failed"
  const says = error instanceof TypeError ? "The server cannot be reached. Is the platform running?" : error.message
  return (
    <Alert color="red" variant="light" icon={<IconAlertTriangle />} title={title}>
      <Stack align="flex-start" gap="sm">
        <Text size="sm">{says}</Text>
        {retry && (
          <Button size="xs" variant="default" onClick={() => retry()}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  )
}

function Empty({ icon: Icon, says, height }: { icon: Icon; says: ReactNode; height: number }) {
  return (
    <Center mih={height} p="md">
      <Stack align="center" gap="xs">
        <ThemeIcon variant="light" color="gray" size={40} radius="xl" c="dimmed">
          <Icon size={20} />
        </ThemeIcon>
        <Text component="div" size="sm" c="dimmed" ta="center" maw={440}>
          {says}
        </Text>
      </Stack>
    </Center>
  )
}
