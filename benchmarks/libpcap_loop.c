/* The plain loop over libpcap that keeps nothing: counts the packets of a capture and the bytes in them. */
#include <pcap.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    char error[PCAP_ERRBUF_SIZE];
    struct pcap_pkthdr *header;
    const u_char *bytes;
    unsigned long long packets = 0, total = 0;
    pcap_t *capture;
    int status;

    if (argc != 2)
        return 2;
    capture = pcap_open_offline(argv[1], error);
    if (capture == NULL) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    while ((status = pcap_next_ex(capture, &header, &bytes)) == 1) {
        packets++;
        total += header->len;
    }
    pcap_close(capture);
    printf("%llu %llu\n", packets, total);
    return status == PCAP_ERROR_BREAK ? 0 : 1;
}
