import { Table, Text, VisuallyHidden } from "@mantine/core"
import { IconKey } from "@tabler/icons-react"
import type { Token } from "@/client"
import { ConfirmButton } from "@/components/buttons/ConfirmButton"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useSessions } from "@/hooks/session/useSessions"
import { useRevokeToken, useTokens } from "@/hooks/session/useTokens"
import { useNow } from "@/hooks/useNow"
import { formatAgo, formatMoment, NONE } from "@/lib/format"
import { consequenceOf, expiryOf, KINDS, summaryOf, usesOf } from "@/lib/session/tokens"
import { CreateToken } from "./CreateToken"

export function TokensPanel() {
  const tokens = useTokens()
  const items = tokens.data?.items ?? []
  const now = useNow()
  return (
    <Panel title="Tokens" subtitle="For the command line, CI and scripts: Authorization: Bearer <token>">
      <CreateToken />
      <Loaded {...tokens} isEmpty={items.length === 0} empty="No tokens." emptyIcon={IconKey}>
        <Table mt="md">
          <Table.Thead>
            <Table.Tr>
              <Table.Th pl={0}>Name</Table.Th>
              <Table.Th visibleFrom="sm">Kind</Table.Th>
              <Table.Th visibleFrom="sm">Scope</Table.Th>
              <Table.Th visibleFrom="sm">Expires</Table.Th>
              <Table.Th pos="relative">
                <VisuallyHidden>Revoke</VisuallyHidden>
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {items.map((token) => (
              <Row key={token.id} token={token} now={now} />
            ))}
          </Table.Tbody>
        </Table>
      </Loaded>
    </Panel>
  )
}

function Row({ token, now }: { token: Token; now: number }) {
  const { id, name, kind, scope, created_at, expires_at, last_used_at } = token
  const revoke = useRevokeToken()
  const sessions = useSessions().data?.items ?? []
  const expiry = expiryOf(token, now)
  const uses = usesOf(token)
  const colour = expiry.expired ? "var(--gs-bad)" : undefined
  return (
    <Table.Tr>
      <Table.Td pl={0} style={{ overflowWrap: "anywhere" }}>
        <Text size="sm" fw={550}>
          {name}
        </Text>
        <Text size="xs" c="dimmed">
          Created {formatMoment(created_at)}, {last_used_at ? `used ${formatAgo(last_used_at, now)}` : "never used"}
          {uses && `, ${uses}`}
        </Text>
        <Text size="xs" c={colour} hiddenFrom="sm">
          {summaryOf(token, now)}
        </Text>
      </Table.Td>
      <Table.Td visibleFrom="sm">{KINDS[kind]}</Table.Td>
      <Table.Td visibleFrom="sm">{scope ?? NONE}</Table.Td>
      <Table.Td visibleFrom="sm" title={expires_at ? formatMoment(expires_at) : undefined} style={{ whiteSpace: "nowrap" }}>
        <Text size="sm" span c={colour}>
          {expiry.text}
        </Text>
      </Table.Td>
      <Table.Td px={0} ta="right">
        <ConfirmButton
          label="Revoke"
          variant="default"
          size="xs"
          question={`Revoke ${name}?`}
          consequence={consequenceOf(token, sessions)}
          onConfirm={() => revoke.mutateAsync(id)}
          pending={revoke.isPending}
          error={revoke.error}
        />
      </Table.Td>
    </Table.Tr>
  )
}
