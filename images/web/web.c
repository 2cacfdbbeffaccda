// A small static web server for examples and tests.
//
//   GET /healthz    200 "ok", or 503 while the file /tmp/unhealthy exists
//   GET /hostname   the pod's name
//   GET /path       a file below the folder in WEB_ROOT (default /www); a folder answers with its index.html.
//                   Without such a file, / answers with the text in TEXT, or names the server and the pod.
//
// PORT (8080) is where it listens. Each request prints a line. On SIGTERM it stops listening, lets requests under way
// end (at most five seconds) and exits with 0.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION "1"
#endif

enum { kLongestRequest = 8192, kIdleSeconds = 30, kMostConnections = 256 };

static atomic_int g_connections;
static int g_stop[2];  // a pipe: the signal handler writes, the accept loop wakes
static const char* g_root;

typedef struct {
  int status;
  const char* type;
  int file;           // open file to send, or -1
  size_t size;        // of the body
  char text[512];     // the body when there is no file
} Answer;

static void OnSignal(int signal) {
  (void)signal;
  int saved = errno;
  (void)!write(g_stop[1], "x", 1);
  errno = saved;
}

static const char* Phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 431: return "Request Header Fields Too Large";
    default: return "Service Unavailable";
  }
}

static void Text(Answer* answer, int status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(answer->text, sizeof answer->text, format, arguments);
  va_end(arguments);
  answer->status = status;
  answer->type = "text/plain; charset=utf-8";
  answer->file = -1;
  answer->size = length < 0 ? 0 : (size_t)length >= sizeof answer->text ? sizeof answer->text - 1 : (size_t)length;
}

static const char* TypeOf(const char* path) {
  static const char* kTypes[][2] = {{".html", "text/html; charset=utf-8"}, {".css", "text/css"}, {".js", "text/javascript"},
                                    {".json", "application/json"},         {".svg", "image/svg+xml"}, {".png", "image/png"},
                                    {".txt", "text/plain; charset=utf-8"}};
  const char* dot = strrchr(path, '.');
  for (size_t i = 0; dot && i < sizeof kTypes / sizeof kTypes[0]; i++) {
    if (strcmp(dot, kTypes[i][0]) == 0) return kTypes[i][1];
  }
  return "application/octet-stream";
}

// Opens the file for a request path; -1 if there is none. Dots that climb are refused before.
static int OpenFile(const char* path, size_t* size, const char** type) {
  char full[kLongestRequest + 256];
  size_t length = strlen(path);
  bool folder = length > 0 && path[length - 1] == '/';
  if (snprintf(full, sizeof full, "%s%s%s", g_root, path, folder ? "index.html" : "") >= (int)sizeof full) return -1;
  int file = open(full, O_RDONLY | O_CLOEXEC);
  struct stat about;
  if (file >= 0 && (fstat(file, &about) != 0 || !S_ISREG(about.st_mode))) {
    close(file);
    file = -1;
  }
  if (file >= 0) {
    *size = (size_t)about.st_size;
    *type = TypeOf(full);
  }
  return file;
}

static void Respond(const char* method, const char* path, Answer* answer) {
  char host[256] = "unknown";
  gethostname(host, sizeof host - 1);
  if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
    Text(answer, 405, "only GET and HEAD are served\n");
  } else if (path[0] != '/' || strstr(path, "..")) {
    Text(answer, 400, "bad path\n");
  } else if (strcmp(path, "/healthz") == 0) {
    bool healthy = access("/tmp/unhealthy", F_OK) != 0;
    Text(answer, healthy ? 200 : 503, healthy ? "ok\n" : "unhealthy\n");
  } else if (strcmp(path, "/hostname") == 0) {
    Text(answer, 200, "%s\n", host);
  } else if ((answer->file = OpenFile(path, &answer->size, &answer->type)) >= 0) {
    answer->status = 200;
  } else if (strcmp(path, "/") == 0) {
    const char* text = getenv("TEXT");
    if (text) {
      Text(answer, 200, "%s\n", text);
    } else {
      Text(answer, 200, "web version %s on %s\n", VERSION, host);
    }
  } else {
    Text(answer, 404, "not found\n");
  }
}

static bool SendAll(int connection, const char* data, size_t size) {
  while (size > 0) {
    ssize_t sent = send(connection, data, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    data += sent;
    size -= (size_t)sent;
  }
  return true;
}

static bool SendFile(int connection, int file, size_t size) {
  char buffer[16384];
  while (size > 0) {
    ssize_t got = read(file, buffer, size < sizeof buffer ? size : sizeof buffer);
    if (got <= 0 || !SendAll(connection, buffer, (size_t)got)) return false;
    size -= (size_t)got;
  }
  return true;
}

static void PrintRequest(const char* peer, const char* method, const char* path, const Answer* answer) {
  char when[32];
  time_t now = time(NULL);
  struct tm parts;
  strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
  printf("%s %s %s %s %d %zu\n", when, peer, method, path, answer->status, answer->size);
  fflush(stdout);
}

// Reads up to the empty line that ends a request's head. Returns its length, 0 at the end, -1 if it is too long.
static int ReadHead(int connection, char* buffer, size_t* filled) {
  for (;;) {
    buffer[*filled] = 0;
    char* end = strstr(buffer, "\r\n\r\n");
    if (end) return (int)(end - buffer) + 4;
    if (*filled >= kLongestRequest) return -1;
    ssize_t got = recv(connection, buffer + *filled, kLongestRequest - *filled, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return 0;
    *filled += (size_t)got;
  }
}

static bool ServeOne(int connection, const char* peer, char* head) {
  bool keep = strcasestr(head, "\r\nconnection: close") == NULL && strstr(head, " HTTP/1.1\r\n") != NULL;
  // A body would have to be read before the next request; nothing that is served has one.
  if (strcasestr(head, "\r\ncontent-length:") || strcasestr(head, "\r\ntransfer-encoding:")) keep = false;
  char method[16] = "?", path[kLongestRequest] = "?";
  Answer answer = {.file = -1};
  if (sscanf(head, "%15s %8191s", method, path) == 2) {
    path[strcspn(path, "?#")] = 0;
    Respond(method, path, &answer);
  } else {
    Text(&answer, 400, "bad request\n");
  }
  char lines[256];
  int length = snprintf(lines, sizeof lines, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: %s\r\n\r\n",
                        answer.status, Phrase(answer.status), answer.type, answer.size, keep ? "keep-alive" : "close");
  bool sent = SendAll(connection, lines, (size_t)length);
  if (sent && strcmp(method, "HEAD") != 0) {
    sent = answer.file >= 0 ? SendFile(connection, answer.file, answer.size) : SendAll(connection, answer.text, answer.size);
  }
  if (answer.file >= 0) close(answer.file);
  PrintRequest(peer, method, path, &answer);
  return sent && keep;
}

static void* Serve(void* argument) {
  int connection = (int)(long)argument;
  struct timeval idle = {.tv_sec = kIdleSeconds};
  setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof idle);
  setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &idle, sizeof idle);
  char peer[INET6_ADDRSTRLEN] = "-";
  struct sockaddr_in6 address;
  socklen_t size = sizeof address;
  if (getpeername(connection, (struct sockaddr*)&address, &size) == 0) {
    inet_ntop(AF_INET6, &address.sin6_addr, peer, sizeof peer);
  }
  const char* shown = strncmp(peer, "::ffff:", 7) == 0 ? peer + 7 : peer;
  char buffer[kLongestRequest + 1];
  size_t filled = 0;
  for (;;) {
    int length = ReadHead(connection, buffer, &filled);
    if (length < 0) {
      static const char kTooLong[] = "HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
      SendAll(connection, kTooLong, sizeof kTooLong - 1);
    }
    if (length <= 0) break;
    char head[kLongestRequest + 1];
    memcpy(head, buffer, (size_t)length);
    head[length] = 0;
    memmove(buffer, buffer + length, filled - (size_t)length);
    filled -= (size_t)length;
    if (!ServeOne(connection, shown, head)) break;
  }
  close(connection);
  atomic_fetch_sub(&g_connections, 1);
  return NULL;
}

static int Listen(int port) {
  int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int yes = 1, no = 0;
  struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = in6addr_any};
  if (listener < 0) return -1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  if (bind(listener, (struct sockaddr*)&address, sizeof address) != 0 || listen(listener, 128) != 0) return -1;
  return listener;
}

static void Accept(int listener) {
  int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  if (connection < 0) return;
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 128 * 1024);
  if (atomic_fetch_add(&g_connections, 1) >= kMostConnections ||
      pthread_create(&thread, &attributes, Serve, (void*)(long)connection) != 0) {
    atomic_fetch_sub(&g_connections, 1);
    close(connection);
  }
  pthread_attr_destroy(&attributes);
}

int main(void) {
  const char* port_text = getenv("PORT");
  int port = port_text ? atoi(port_text) : 8080;
  g_root = getenv("WEB_ROOT") ? getenv("WEB_ROOT") : "/www";
  int listener = Listen(port);
  if (listener < 0) {
    fprintf(stderr, "web: can't listen on port %d: %s\n", port, strerror(errno));
    return 1;
  }
  if (pipe2(g_stop, O_CLOEXEC) != 0) return 1;
  struct sigaction action = {.sa_handler = OnSignal};
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  printf("web version %s listens on port %d\n", VERSION, port);
  fflush(stdout);
  struct pollfd wait[2] = {{.fd = listener, .events = POLLIN}, {.fd = g_stop[0], .events = POLLIN}};
  for (;;) {
    if (poll(wait, 2, -1) < 0) continue;
    if (wait[1].revents) break;
    if (wait[0].revents) Accept(listener);
  }
  close(listener);
  for (int i = 0; i < 50 && atomic_load(&g_connections) > 0; i++) usleep(100 * 1000);
  printf("web stops\n");
  return 0;
}
