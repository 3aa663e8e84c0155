/// The options of clients that the tests do not run, as their help lists them.
enum OtherClients {
    /// websocat 1.14.
    static let websocat = """
        --accept-from-fd --async-stdio --autoreconnect-delay-millis --base64 --base64-text --basic-auth
        --basic-auth-file --binary --binary-prefix --buffer-size --byte-to-exit-on --client-pkcs12-der
        --client-pkcs12-passwd --close-reason
        --close-status-code --compress-deflate --compress-gzip --compress-zlib --conncap --dump-spec --exec-args
        --exec-exit-on-disconnect --exec-sighup-on-stdin-close --exec-sighup-on-zero-msg --exit-on-eof
        --foreachmsg-wait-read --header --header-to-env --help --inhibit-pongs --insecure --jsonrpc
        --jsonrpc-omit-jsonrpc --just-generate-accept --just-generate-key --lengthprefixed-little-endian
        --lengthprefixed-nbytes --lengthprefixed-skip-read-direction --lengthprefixed-skip-write-direction
        --linemode-strip-newlines --max-messages --max-messages-rev --max-sent-pings --max-ws-frame-length
        --max-ws-message-length --no-async-stdio --no-close --no-exit-on-zeromsg --no-fixups --no-line
        --null-terminated --one-message --oneshot --origin --ping-interval --ping-timeout --pkcs12-der
        --pkcs12-passwd --preamble --preamble-reverse --print-ping-rtts --prometheus --protocol --queue-len
        --request-header --request-method --request-uri --restrict-uri --reuser-send-zero-msg-on-disconnect
        --server-header --server-mode --server-protocol --set-environment --socks5 --socks5-bind-script
        --socks5-destination --socks5-user-pass --static-file --stdout-announce-listening-ports --strict --text
        --text-prefix
        --timestamp-monotonic --tls-domain --ua --udp-broadcast --udp-multicast --udp-multicast-iface-v4
        --udp-multicast-iface-v6 --udp-multicast-loop --udp-oneshot --udp-reuseaddr --udp-ttl --uncompress-deflate
        --uncompress-gzip --uncompress-zlib --unidirectional --unidirectional-reverse --unlink --version
        --websocket-ignore-zeromsg --websocket-version --ws-c-uri
        -0 -1 -B -E -F -H -P -S -U -V -X -b -e -h -k -n -p -q -s -t -u -v
        autoreconnect: broadcast: cmd: exec: http-request: mirror: sh-c: tcp: udp: unix: ws-l:
        """

    /// wscat 6.
    static let wscat = """
        --auth --ca --cert --host --key --max-redirects --no-color --passphrase --proxy --slash -c --connect -H
        --header -L --location -l --listen -n --no-check -o --origin -p --protocol -P --show-ping-pong -s
        --subprotocol -w --wait -x --execute -V --version -h --help
        """
}
