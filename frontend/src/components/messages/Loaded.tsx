import { Alert, Button, Center, Loader, Stack, Text, ThemeIcon } from "@mantine/core"
import { IconAlertTriangle, IconInbox, type Icon } from "@tabler/icons-react"
import { useEffect, useState, type ReactNode } from "react"
import { Problem } from "@/client"
import { mayRecover } from "@/lib/api/recovery"

/** A question that takes longer than this has met trouble. */
const LONG_MS = 10_000

interface LoadedProps {
  isPending?: boolean
  error?: Error | null
  /** False: it was had before, and could only not be read again. The known data stays in sight, with a word about its age. */
  isLoadingError?: boolean
  /** Why the request that is under way has to be sent again. */
  failureReason?: Error | null
  refetch?: () => unknown
  isEmpty?: boolean
  /** Said when there is nothing to show. */
  empty?: ReactNode
  emptyIcon?: Icon
  height?: number
  children: ReactNode
}

/** Owns what is shown while something loads, when it could not be had, and when there is nothing; panels do not. */
export function Loaded({ isPending, error, isLoadingError = true, failureReason, refetch, isEmpty, empty = "Nothing yet.", emptyIcon = IconInbox, height = 160, children }: LoadedProps) {
  const failed = useLastFailure(error ?? (isPending ? failureReason : null) ?? null, isPending)
  if (failed && (isPending || isLoadingError)) return <Failed error={failed} retry={refetch} />
  if (isPending) return <Waiting height={height} />
  if (isEmpty) return <Empty icon={emptyIcon} height={height} says={empty} />
  return (
    <>
      {error && <Outdated error={error} />}
      {children}
    </>
  )
}

/** Without an answer for long, it says so: a server that hangs refuses nothing. */
function Waiting({ height }: { height: number }) {
  const [long, setLong] = useState(false)
  useEffect(() => {
    const timer = window.setTimeout(() => setLong(true), LONG_MS)
    return () => window.clearTimeout(timer)
  }, [])
  return (
    <Center mih={height} p="md">
      <Stack align="center" gap="xs">
        <Loader type="dots" role="status" aria-label="Loading" />
        {long && (
          <Text size="sm" c="dimmed" ta="center" maw={440} role="status">
            No answer for {LONG_MS / 1000} s. The platform may wait for its database or for Redis: see its log. The page goes on by itself.
          </Text>
        )}
      </Stack>
    </Center>
  )
}

/** The failure in sight stays there while the page asks again. */
function useLastFailure(failure: Error | null, isPending: boolean | undefined): Error | null {
  const [last, setLast] = useState<Error | null>(null)
  const now = failure ?? (isPending ? last : null)
  if (now !== last) setLast(now)
  return now
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
        <Text size="sm">
          {says}
          {mayRecover(error) && " The page asks again by itself."}
        </Text>
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
