import { Table, Text, VisuallyHidden } from "@mantine/core"
import { IconBrowser } from "@tabler/icons-react"
import type { BrowserSession } from "@/client"
import { ConfirmButton } from "@/components/buttons/ConfirmButton"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useEndSession, useSessions } from "@/hooks/session/useSessions"
import { useNow } from "@/hooks/useNow"
import { formatAgo, formatDay, formatMoment } from "@/lib/format"

/** Where the user is signed in. */
export function SessionsPanel() {
  const sessions = useSessions()
  const items = sessions.data?.items ?? []
  const now = useNow()
  return (
    <Panel title="Browser sessions" subtitle="Browsers where you are signed in. A session ends with its token">
      <Loaded {...sessions} isEmpty={items.length === 0} empty="No browser is signed in." emptyIcon={IconBrowser}>
        <Table aria-label="Browser sessions">
          <Table.Thead>
            <Table.Tr>
              <Table.Th pl={0}>Browser</Table.Th>
              <Table.Th visibleFrom="sm">Token</Table.Th>
              <Table.Th visibleFrom="sm">Expires</Table.Th>
              <Table.Th pos="relative">
                <VisuallyHidden>End</VisuallyHidden>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {items.map((session) => (
              <Row key={session.id} session={session} now={now} />
            ))}
          </Table.Tbody>
        </Table>
      </Loaded>
    </Panel>
  )
}

function Row({ session, now }: { session: BrowserSession; now: number }) {
  const { id, browser, token_name, created_at, last_used_at, expires_at, current } = session
  const end = useEndSession()
  return (
    <Table.Tr>
      <Table.Td pl={0} style={{ overflowWrap: "anywhere" }}>
        <Text size="sm" fw={550}>
          {browser}
        </Text>
        <Text size="xs" c="dimmed">
          Started {formatMoment(created_at)}, used {formatAgo(last_used_at, now)}
        </Text>
        <Text size="xs" hiddenFrom="sm">
          Token {token_name}, expires {formatDay(expires_at)}
        </Text>
      </Table.Td>
      <Table.Td visibleFrom="sm" style={{ overflowWrap: "anywhere" }}>
        {token_name}
      </Table.Td>
      <Table.Td visibleFrom="sm" title={formatMoment(expires_at)} style={{ whiteSpace: "nowrap" }}>
        {formatDay(expires_at)}
      </Table.Td>
      <Table.Td px={0} ta="right">
        {current ? (
          <Text size="sm" c="dimmed" span style={{ whiteSpace: "nowrap" }}>
            This browser
          </Text>
        ) : (
          <ConfirmButton
            label="End"
            variant="default"
            size="xs"
            question={`End the session of ${browser}?`}
            consequence="That browser is signed out at once."
            onConfirm={() => end.mutateAsync(id)}
            pending={end.isPending}
            error={end.error}
          />
        )}
      </Table.Td>
    </Table.Tr>
  )
}
