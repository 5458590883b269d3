import { Table, Text } from "@mantine/core"
import { IconKey } from "@tabler/icons-react"
import type { Token } from "@/client"
import { ConfirmButton } from "@/components/ConfirmButton"
import { Loaded } from "@/components/Loaded"
import { Panel } from "@/components/Panel"
import { useRevokeToken, useTokens } from "@/hooks/queries/useTokens"
import { formatAgo, formatMoment } from "@/lib/format"
import { useNow } from "@/hooks/useNow"
import { CreateToken } from "./CreateToken"

export function TokensPanel() {
  const tokens = useTokens()
  const items = tokens.data?.items ?? []
  const now = useNow()
  return (
    <Panel title="API tokens" subtitle="For the command line, CI and scripts: Authorization: Bearer <token>">
      <CreateToken />
      <Loaded {...tokens} isEmpty={items.length === 0} empty="There is no token yet." emptyIcon={IconKey}>
        <Table mt="md">
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

function Row({ token: { id, name, created_at, last_used_at }, now }: { token: Token; now: number }) {
  const revoke = useRevokeToken()
  return (
    <Table.Tr>
      <Table.Td px={0} style={{ overflowWrap: "anywhere" }}>
        <Text size="sm" fw={550}>
          {name}
        </Text>
        <Text size="xs" c="dimmed">
          Made {formatMoment(created_at)}, {last_used_at ? `used ${formatAgo(last_used_at, now)}` : "never used"}
        </Text>
      </Table.Td>
      <Table.Td px={0} ta="right">
        <ConfirmButton
          label="Revoke"
          variant="default"
          size="xs"
          question={`Revoke ${name}?`}
          consequence="Whatever uses this token is signed out at once."
          onConfirm={() => revoke.mutateAsync(id)}
          pending={revoke.isPending}
          error={revoke.error}
        />
      </Table.Td>
    </Table.Tr>
  )
}
